// What services import from this package: pushing and listing records of every kind.
export { openOperating } from './holdings.ts';
export { stages, type Stage } from './stage.ts';
export { derivedId } from './ids.ts';
export type { Drafting, Fields, Kind, Reference } from './kind.ts';
export { erasableForMs, openLookup, type Lookup } from './records/references.ts';
export type { RunJournal } from './listing/sync-runs.ts';
export {
  recordService,
  RecordServiceConfig,
  type RecordService,
  type RecordServiceDeps,
} from './record-service.ts';
export { askService, readQuestion } from './service-messages.ts';
