import { text } from 'node:stream/consumers';
import { AppClient } from '../rain/app-client';
import { playCrowd } from '../rain/crowd';
import { HttpClient } from '../rain/http-client';
import { parseRainOptions } from '../rain/rain-options';
import type { CrowdOrders } from './crowd-orders';
import { hammer } from './hammer';

/** Runs the crowd. The arguments are those of `npm run rain`. Returns the results that contradict each other, in words. */
async function play(): Promise<readonly string[]> {
  const options = parseRainOptions(process.argv.slice(2));
  const { token, hammers } = JSON.parse(await text(process.stdin)) as CrowdOrders;
  const http = new HttpClient(options.url ?? '', options.concurrency);
  const [{ oddities }] = await Promise.all([
    playCrowd(new AppClient(http, token), options, () => undefined),
    ...Array.from({ length: hammers }, () => hammer(http, options.activityId, token)),
  ]);
  return oddities;
}

// The crowd is a process of its own, because it would slow down the app's process.
play()
  .then((oddities) => {
    for (const oddity of oddities) process.stderr.write(`${oddity}\n`);
    process.exit(oddities.length === 0 ? 0 : 1);
  })
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
