// Runs in the browser. It is a file because the page's content security policy forbids inline scripts.
SwaggerUIBundle({
  dom_id: '#explorer',
  url: 'openapi.json',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // By default Swagger UI would send the document's address to validator.swagger.io.
  validatorUrl: null,
});
