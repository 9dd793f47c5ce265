// The gateway's door for operators' commands: the file of clients, and secrets.
export {
  ClientsRefused,
  parseClients,
  readInstant,
  type Client,
  type StoredSecret,
} from '../clients/clients-file.ts';
export { readClientsFile, reasonOf } from '../clients/clients-file.ts';
export { hashOf, makeSecret, secretName } from '../clients/secret.ts';
