// The settings of the batches service.
export { RecordServiceConfig as BatchesConfig } from '@integration-sync/sync';
