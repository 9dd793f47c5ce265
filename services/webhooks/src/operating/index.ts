// The exports for operators' commands. Inside webhooks only service.ts imports from this folder.
export { openDisabledWebhooks, type DisabledWebhook, type DisabledWebhooks } from './disabled.ts';
export { openWebhooksHoldings, type WebhooksHoldings } from './holdings.ts';
export { askKeys, type ReplicaKeys } from './keys.ts';
export { openReseal, type Reseal, type ResealProgress } from './reseal.ts';
export { readWebhookStates, type WebhookStates } from './states.ts';
export { fillableOf, streamSpecs as expectedStreams } from '../streams.ts';
export { openVault, type Vault } from '../secrets/vault.ts';
