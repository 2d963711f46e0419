globalThis.SwaggerUIBundle({
  dom_id: "#reference",
  url: "/docs/openapi.json",
  // The validator's badge would tell another host about this one.
  validatorUrl: null,
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  filter: true,
});
