// The door of the core, for the console: the same reader, map, messages and order of sending as the command has.
export { count, counted } from './count.ts';
export { messageOf, Stop } from './exit.ts';
export { fieldsOf, kinds, neededOf, referenceOf } from './kinds.ts';
export { textOf, Wrong } from './mapping/convert.ts';
export type { Item } from './mapping/items.ts';
export { parseMap, type LoadMap, type Rules } from './mapping/map.ts';
export { guarded } from './reading/formulas.ts';
export { kindByName, openSource, resolveInputs } from './reading/inputs.ts';
export { placeOf, type Input, type RejectsForm, type Source } from './reading/source.ts';
export { DeferredRows, type DeferredEntry } from './sending/deferred.ts';
export { interrupted, Loading, type LoadOutputs, type SendItems } from './sending/loading.ts';
export { PlannedIds, planItems, pushItems } from './sending/push.ts';
export type { Slot } from './sending/slots.ts';
export { noCounts, type Counts, type FileState, type LoadState } from './sending/state.ts';
export { find, refusal, tooMany, type Found } from './sending/unnamed.ts';
