import { pause } from '../../../internal/src/without-nest';
import type { Command } from '../command';
import { nodeOpener } from '../redis/node';
import { openMasters, redisUrl } from '../redis/servers';
import type { Terminal } from '../terminal';
import { type Sample, takeSample } from './sample';
import { linesOf } from './view';

const EVERY_MS = 2_000;
/** Size of the output if it is not a terminal. */
const PAPER = { rows: 60, columns: 120 };

const HELP = `Usage: luanest top [--redis URL] [--cluster] [--once]

Shows what a Redis does, again each 2 s: rates, times and failures of each command, of scripts first of all.
It sends one INFO to each master each time. q quits.

  --redis URL   redis://user:password@host:6379, or rediss:// with TLS. Default: the environment variable REDIS_URL
  --cluster     the URL is a node of a Cluster: adds up all masters
  --once        prints the rates of 2 s and ends; also if the output is not a terminal`;

/** The command `luanest top`. */
export const top: Command = {
  summary: 'shows what a Redis does: rates, times and failures of its commands',
  help: HELP,
  options: { redis: { type: 'string' }, cluster: { type: 'boolean' }, once: { type: 'boolean' } },
  async run({ values }, terminal) {
    const url = redisUrl(values.redis, terminal.environment);
    const masters = await openMasters(url, values.cluster === true, nodeOpener(terminal.folder));
    const nodes = masters.map(({ node }) => node);
    try {
      await show(
        () => takeSample(nodes),
        url.host,
        values.once === true ? { ...terminal, screen: undefined } : terminal,
      );
    } finally {
      for (const node of nodes) node.close();
    }
    return 0;
  },
};

async function show(
  take: () => Promise<Sample>,
  where: string,
  { screen, print }: Omit<Terminal, 'screen'> & { readonly screen?: Terminal['screen'] | undefined },
): Promise<void> {
  const quit = new AbortController();
  const restore = screen?.listen((key) => {
    if (key === 'q') quit.abort();
  });
  try {
    let before = await take();
    while (!quit.signal.aborted) {
      await pause(EVERY_MS, { signal: quit.signal });
      if (quit.signal.aborted) return;
      const after = await take();
      if (!screen) return print(linesOf(where, before, after, PAPER).join('\n'));
      screen.draw(linesOf(where, before, after, screen.size()));
      before = after;
    }
  } finally {
    restore?.();
  }
}
