globalThis.SwaggerUIBundle({
  dom_id: "#reference",
  url: "/docs/openapi.json",
  // The badge of the validator would tell another host of this one.
  validatorUrl: null,
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  filter: true,
});
