// What operators' commands import of the gateway: the file of clients, and secrets.
export {
  ClientsRefused,
  parseClients,
  readClientsFile,
  readInstant,
  reasonOf,
  type Client,
  type StoredSecret,
} from '../clients/clients-file.ts';
export { hashOf, makeSecret, secretName } from '../clients/secret.ts';
