import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { AppLogger } from './platform/app-logger';
import { ConfigError } from './platform/config/config-error';
import { loadConfig } from './platform/config/load-config';
import { type RunningApp, startApp } from './start-app';

// No file of this process and of its Redis is open to other users.
process.umask(0o077);
Logger.overrideLogger(new AppLogger());
const logger = new Logger('luanest');

/**
 * Closes the app on SIGTERM and SIGINT. Nest's shutdown hooks would end the process before the ledger and the embedded
 * Redis are closed. Later signals are ignored, because npm and the terminal may each deliver one Ctrl-C.
 */
function stopOnSignals(starting: Promise<RunningApp>, waiting: AbortController): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    logger.log(`${signal}: finishing what is in flight`);
    waiting.abort();
    starting
      .then(
        (app) => app.close(),
        (error: unknown) => {
          if (!(error instanceof Error && error.name === 'AbortError')) throw error;
        },
      )
      .then(() => process.exit(0))
      .catch(fail);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function fail(error: unknown): void {
  // The message of a ConfigError names the variable and what is allowed, so no stack is needed.
  if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
  else logger.fatal(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exit(1);
}

logger.log('Starting: Redis, then the ledger, then the HTTP server.');
const waiting = new AbortController();
const starting = loadConfig().then((config) => startApp(config, waiting.signal));
stopOnSignals(starting, waiting);
// Without the logger's prefix, because scripts look for this line.
starting
  .then((app) => process.stdout.write(`Listening on ${app.url}\n`))
  .catch((error: unknown) => {
    if (!waiting.signal.aborted) fail(error);
  });
