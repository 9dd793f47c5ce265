// The entry of the worker that ../page-desk.ts starts, a bundle of its own: the core of the loader, and the state of the view (desk.ts).
import type { Command } from '../protocol.ts';
import { Desk } from './desk.ts';

const desk = new Desk((answer) => postMessage(answer));
addEventListener('message', ({ data }: MessageEvent<Command>) => desk.perform(data));
