import { ConfigError } from '../../platform/config/config-error';
import { loadConfig } from '../../platform/config/load-config';
import { loadAdminToken } from '../../visitors/identity/secrets';
import { AppClient } from './app-client';
import { type Audit, auditRain, readBooks } from './audit';
import { playCrowd } from './crowd';
import { HttpClient, RainRequestError } from './http-client';
import { parseRainOptions, RainUsageError, USAGE } from './rain-options';
import { formatAudit, progressTo } from './report';

async function rain(argv: readonly string[]): Promise<Audit> {
  const options = parseRainOptions(argv);
  const config = await loadConfig();
  const url = options.url ?? `http://127.0.0.1:${config.port}`;
  const http = new HttpClient(url, options.concurrency, undefined, (bases, patienceMs) => {
    process.stderr.write(`Waiting up to ${patienceMs / 1_000} s for the app at ${bases}. Start it with "npm start".\n`);
  });
  try {
    const app = new AppClient(http, await loadAdminToken(config));
    await app.createActivity(options);
    const crowd = await playCrowd(app, options, progressTo(process.stderr));
    const audit = auditRain(options, crowd, await readBooks(app, options.activityId), http.retries);
    process.stdout.write(options.json ? `${JSON.stringify(audit)}\n` : formatAudit(audit));
    return audit;
  } finally {
    http.close();
  }
}

function printError(error: unknown): void {
  const expected = error instanceof RainUsageError || error instanceof RainRequestError || error instanceof ConfigError;
  const text = expected ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${text}\n${error instanceof RainUsageError ? `${USAGE}\n` : ''}`);
}

rain(process.argv.slice(2))
  .then((audit) => (process.exitCode = audit.ok ? 0 : 1))
  .catch((error: unknown) => {
    printError(error);
    // 2: an invalid argument or setting. 1: the books do not agree, or the rain failed.
    process.exitCode = error instanceof RainUsageError || error instanceof ConfigError ? 2 : 1;
  });
