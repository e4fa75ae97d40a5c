import { AppClient } from '../rain/app-client';
import { playCrowd } from '../rain/crowd';
import { HttpClient } from '../rain/http-client';
import { parseRainOptions } from '../rain/rain-options';

// A process of its own: a crowd in the app's would slow down what it measures. Arguments are those of the rain.
const options = parseRainOptions(process.argv.slice(2));
// The other processes of the app, which take their share, and the place of one that dies.
const others = (process.env.CROWD_URLS ?? '').split(',').filter((url) => url !== '');
const http = new HttpClient([options.url ?? '', ...others], options.concurrency);
playCrowd(new AppClient(http, ''), options, () => undefined)
  .then(({ oddities }) => {
    for (const oddity of oddities) process.stderr.write(`${oddity}\n`);
    process.exit(oddities.length === 0 ? 0 : 1);
  })
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
