// Runs in the browser. A file of its own, because the page's policy forbids scripts written into the page.
SwaggerUIBundle({
  dom_id: '#explorer',
  url: 'openapi.json',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // This would ask a stranger's server for a badge.
  validatorUrl: null,
});
