import { lacks, session } from '../api/session.ts';
import { useStore } from '../store.ts';

export const useLacks = (scope: string): boolean => lacks(useStore(session), scope);
