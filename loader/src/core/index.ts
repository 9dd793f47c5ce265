// The exports of the loader's core for the console: the same reader, map, messages and order of sending as in the command.
export { joined, utf8Bytes } from './bytes.ts';
export { count, counted } from './count.ts';
export { messageOf, Stop } from './exit.ts';
export { fieldsOf, kinds, neededOf, rowColumn, reasonColumn } from './kinds.ts';
export { fieldsOfHeader, isHeader, leftOut } from './mapping/columns.ts';
export { textOf } from './mapping/convert.ts';
export { suggestedColumns } from './mapping/suggestions.ts';
export { parseMap, readMap, unreadableMap, type LoadMap, type Rules } from './mapping/map.ts';
export { lookAtTable, openSource, otherSheets, resolveInputs } from './reading/inputs.ts';
export {
  changed,
  placeOf,
  type Input,
  type RejectsForm,
  type Source,
  type TableLook,
} from './reading/source.ts';
export { DeferredRows, type DeferredEntry } from './sending/deferred.ts';
export { checked, isRejectsOf, isSavedAs, noteLoad, type History } from './sending/history.ts';
export { Loading, type LoadOutputs } from './sending/loading.ts';
export { PlannedIds, planItems, pushItems } from './sending/push.ts';
export { inWords, markOf } from './sending/refusals.ts';
export { withRejectedIds } from './sending/rejected-ids.ts';
export { resultsHead, resultsLine } from './sending/results.ts';
export type { Slot } from './sending/slots.ts';
export { newFile, type Counts, type FileState, type LoadState } from './sending/state.ts';
export type { Target } from './sending/target.ts';
export { find, refusal, tooMany, type Found } from './sending/unnamed.ts';
