// The settings of the catalog service.
export { RecordServiceConfig as CatalogConfig } from '@integration-sync/sync';
