// The setting of clients.
import { Type } from 'typebox';

export const clientsSettings = {
  AUTH_CLIENTS_FILE: Type.Optional(
    Type.String({
      description:
        'File of the clients and the hashes of their secrets ([Keys](keys.md)). Beside AUTH_JWT_SECRET or AUTH_JWKS_URL, or alone. A gateway looks every 5 s whether it has changed.',
    }),
  ),
};
