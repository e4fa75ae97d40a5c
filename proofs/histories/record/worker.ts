// A process with clients of many histories. The parent process kills it, and stops it for a while.
import { Logger } from '@nestjs/common';
import { subjectOf } from '../subjects';
import { Player, type Batch, type PlayerSettings } from './player';

export type WorkerMessage =
  | { readonly kind: 'open'; readonly subjects: readonly string[]; readonly settings: PlayerSettings }
  | { readonly kind: 'run'; readonly batch: Batch }
  | { readonly kind: 'stop' };

/** Message of a worker to its parent. */
export type WorkerReport = 'open' | 'ran' | { readonly failed: string };

let player: Player | undefined;

async function obey(message: WorkerMessage): Promise<void> {
  if (message.kind === 'open') {
    player = await Player.open(message.subjects.map(subjectOf), message.settings);
    report('open');
  } else if (message.kind === 'stop') {
    player?.stop();
  } else {
    await player?.run(message.batch);
    report('ran');
  }
}

function report(what: WorkerReport): void {
  process.send?.(what);
}

// Tasks fail here on purpose.
Logger.overrideLogger(false);
process.on('message', (message) => {
  obey(message as WorkerMessage).catch((error: unknown) => report({ failed: String((error as Error).stack) }));
});
process.once('disconnect', () => process.exit(1));
