// A process for stdout.test.ts: it logs what its argument names, then goes on, ends or dies.
import { openLog } from '@integration-sync/runtime/log';

const log = openLog({ service: 'speaker', level: 'info' });

const speeches: Record<string, () => void> = {
  'says one thing and goes on'() {
    setInterval(() => {}, 1_000);
    log.info('quiet');
  },
  'says one thing and ends'() {
    log.info('quiet');
    process.exit();
  },
  'warns and is killed'() {
    log.info('quiet');
    log.warn('urgent');
    process.kill(process.pid, 'SIGKILL');
  },
  'says much and ends'() {
    for (let count = 0; count < 5_000; count += 1) log.info({ count }, '…'.repeat(count % 700));
  },
};

speeches[process.argv[2] ?? '']?.();
