import { measuredMs, pause } from '../../../internal/src/without-nest';
import type { Command } from '../command';
import { findIn, type Found } from '../redis/found';
import { nodeOpener } from '../redis/node';
import { openMasters, redisUrl, type Master } from '../redis/servers';
import type { Terminal } from '../terminal';
import { type Sample, takeSample } from './sample';
import { linesOf } from './view';
import { takeWork, type WorkSample } from './work';
import { workLines } from './work-view';

const EVERY_MS = 2_000;
/** Pause between two searches for queues and streams, ms. */
const FIND_MS = 60_000;
/** Size of the output if it is not a terminal. */
const PAPER = { rows: 60, columns: 120 };

const HELP = `Usage: luanest top [--redis URL] [--cluster] [--prefix PREFIX] [--once]

Shows every 2 s what a Redis does: the queues and streams of luanest, then rates, times and failures of each command.
Each time it sends one INFO to each master, and seven commands for each partition, for 200 partitions at most. q quits.

  --redis URL      redis://user:password@host:6379, or rediss:// with TLS. Default: the environment variable REDIS_URL
  --cluster        the URL is a node of a Cluster: shows the sum of all masters
  --prefix PREFIX  \`prefix\` of ScriptRegistryModule. Default: luanest
  --once           prints the rates of 2 s and ends. This is the default if the output is not a terminal`;

export const top: Command = {
  summary: 'shows what a Redis does: queues and streams, and rates, times and failures of commands',
  help: HELP,
  options: {
    redis: { type: 'string' },
    cluster: { type: 'boolean' },
    prefix: { type: 'string' },
    once: { type: 'boolean' },
  },
  async run({ values }, terminal) {
    const url = redisUrl(values.redis, terminal.environment);
    const masters = await openMasters(url, values.cluster === true, nodeOpener(terminal.folder));
    const nodes = masters.map(({ node }) => node);
    try {
      const prefix = typeof values.prefix === 'string' ? values.prefix : 'luanest';
      await show(
        sampler(masters, prefix),
        url.host,
        values.once === true ? { ...terminal, screen: undefined } : terminal,
      );
    } finally {
      for (const node of nodes) node.close();
    }
    return 0;
  },
};

/** The numbers of the servers, and of the queues and streams in them, at one moment. */
interface Moment {
  readonly sample: Sample;
  readonly work: WorkSample;
}

/** Returns a function that reads all numbers of the view. It searches for queues and streams at the first call, and then once a minute. */
function sampler(masters: readonly Master[], prefix: string): () => Promise<Moment> {
  let found: Found | undefined;
  let foundAtMs = 0;
  const readWork = async (): Promise<WorkSample> => {
    if (found === undefined || measuredMs() - foundAtMs > FIND_MS) {
      found = await findIn(masters, prefix);
      foundAtMs = measuredMs();
    }
    return takeWork(found);
  };
  return async () => {
    const [sample, work] = await Promise.all([
      takeSample(masters.map(({ node }) => node)),
      // The Redis user may have permission for INFO only. Then the screen shows at least the commands.
      readWork().catch((error: Error): WorkSample => ({
        atMs: 0,
        counts: new Map(),
        unread: 0,
        problem: error.message,
      })),
    ]);
    return { sample, work };
  };
}

async function show(
  take: () => Promise<Moment>,
  where: string,
  { screen, print }: Omit<Terminal, 'screen'> & { readonly screen?: Terminal['screen'] | undefined },
): Promise<void> {
  const quit = new AbortController();
  const restore = screen?.listen((key) => {
    if (key === 'q') quit.abort();
  });
  const draw = (before: Moment, after: Moment, size: typeof PAPER): string[] =>
    linesOf(where, before.sample, after.sample, size, (rows) => workLines(before.work, after.work, rows));
  try {
    let before = await take();
    while (!quit.signal.aborted) {
      await pause(EVERY_MS, { signal: quit.signal });
      if (quit.signal.aborted) return;
      const after = await take();
      if (!screen) return print(draw(before, after, PAPER).join('\n'));
      screen.draw(draw(before, after, screen.size()));
      before = after;
    }
  } finally {
    restore?.();
  }
}
