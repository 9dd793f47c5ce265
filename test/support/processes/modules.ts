// Says at the end of a process, in one line, which files it has loaded.
//
//   node --import ./modules.ts PROGRAM
import { registerHooks } from 'node:module';

const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
process.on('exit', () => void process.stdout.write(`${JSON.stringify({ loaded })}\n`));
