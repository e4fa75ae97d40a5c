import { AppClient } from '../rain/app-client';
import { playCrowd } from '../rain/crowd';
import { HttpClient } from '../rain/http-client';
import { parseRainOptions } from '../rain/rain-options';
import { hammer } from './hammer';

// A process of its own: a crowd in the app's would slow down what it measures. Arguments are those of the rain.
const options = parseRainOptions(process.argv.slice(2));
const token = process.env.CROWD_TOKEN ?? '';
const http = new HttpClient(options.url ?? '', options.concurrency);
const hammers = Array.from({ length: Number(process.env.CROWD_HAMMERS ?? 0) }, () =>
  hammer(http, options.activityId, token),
);
Promise.all([playCrowd(new AppClient(http, token), options, () => undefined), ...hammers])
  .then(([{ oddities }]) => {
    for (const oddity of oddities) process.stderr.write(`${oddity}\n`);
    process.exit(oddities.length === 0 ? 0 : 1);
  })
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
