// The closed list of errors of a whole request, and the HTTP status of each. The gateway answers a caller with no error
// outside this table.

export const codes = {
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_request: { status: 400, title: 'The request is not valid' },
  unauthorized: { status: 401, title: 'A valid access token is needed' },
  insufficient_scope: { status: 403, title: 'The token lacks a scope' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'The request conflicts with the current state' },
  too_many_items: { status: 413, title: 'Too many items in one push' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported content type' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
  timeout: { status: 504, title: 'No answer in time' },
} as const;

export type ErrorCode = keyof typeof codes;

export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(codes, text);
