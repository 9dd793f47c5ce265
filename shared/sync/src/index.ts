// What services import from this package: pushing and listing records of every kind.
export type { Clock } from './clock.ts';
export { openOperating } from './holdings.ts';
export { stages, type PushStage, type Stage } from './stage.ts';
export { isObject } from './items/push-body.ts';
export { describe } from './items/validate.ts';
export { derivedId, syncIdsFrom } from './ids.ts';
export type { Drafting, Fields, Kind, Reference } from './kind.ts';
export { erasableForMs, openLookup, type Lookup } from './records/references.ts';
export type { RunJournal } from './listing/sync-runs.ts';
export {
  recordService,
  RecordServiceConfig,
  type RecordService,
  type RecordServiceDeps,
  type RecordServiceParts,
} from './record-service.ts';
export { askService, readQuestion } from './service-messages.ts';
