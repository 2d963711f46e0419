// Grafast reads its environment once, when it is first loaded: import this module before it.
process.env["GRAPHILE_ENV"] ??= "production";
