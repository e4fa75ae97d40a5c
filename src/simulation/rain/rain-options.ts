import { randomBytes, randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { parseCents } from './money';

/** Options of a rain on the command line. */
export interface RainOptions {
  /** Size of the crowd; 1 to 1,000,000. Default 20,000. */
  readonly users: number;
  /** Packets to hand out; 1 to 100,000. Default 5,000. */
  readonly packets: number;
  /** Money to hand out, cents. Default 1,000,000. */
  readonly totalCents: number;
  /** Times that each user taps; 1 to 100. Default 3. */
  readonly taps: number;
  /** Requests in flight; 1 to 1,000. Default 64. */
  readonly concurrency: number;
  /** Seed of the order of the taps; 0 to 2^32 - 1. The same seed gives the same order. Default: random. */
  readonly seed: number;
  /** Id of the activity to make. Default: a new one. */
  readonly activityId: string;
  /** Origin of the app, or several with commas between; undefined: the port of the configuration on this machine. */
  readonly url: string | undefined;
  /** True to print the audit as one line of JSON. */
  readonly json: boolean;
}

/** Error for an invalid argument. The message is for the user of the command. */
export class RainUsageError extends Error {
  readonly code = 'RAIN_USAGE';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RainUsageError';
  }
}

/** Usage text of the command. */
export const USAGE = `Usage: npm run rain -- [--users 20000] [--packets 5000] [--total 10000.00] [--taps 3]
         [--concurrency 64] [--url http://127.0.0.1:3000,...] [--activity <new id>] [--seed <n>] [--json]`;

const text = { type: 'string' } as const;

/**
 * Reads the command line.
 *
 * @throws {RainUsageError} at the first invalid argument
 */
export function parseRainOptions(argv: readonly string[]): RainOptions {
  const values = parse(argv);
  const options: RainOptions = {
    users: integer('users', values.users, 20_000, 1, 1_000_000),
    packets: integer('packets', values.packets, 5_000, 1, 100_000),
    totalCents: money(values.total ?? '10000.00'),
    taps: integer('taps', values.taps, 3, 1, 100),
    concurrency: integer('concurrency', values.concurrency, 64, 1, 1_000),
    seed: integer('seed', values.seed, randomInt(2 ** 32), 0, 2 ** 32 - 1),
    activityId: activity(values.activity),
    url: url(values.url),
    json: values.json ?? false,
  };
  if (options.totalCents < options.packets) {
    throw new RainUsageError(
      `--total is ${options.totalCents} cents, too few for ${options.packets} packets of at least one cent.`,
    );
  }
  return options;
}

function parse(argv: readonly string[]) {
  const options = {
    users: text,
    packets: text,
    total: text,
    taps: text,
    concurrency: text,
    seed: text,
    activity: text,
    url: text,
    json: { type: 'boolean' },
  } as const;
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values;
  } catch (cause) {
    throw new RainUsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function integer(name: string, value: string | undefined, fallback: number, min: number, max: number): number {
  if (value === undefined) return fallback;
  const parsed = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (parsed >= min && parsed <= max) return parsed;
  throw new RainUsageError(
    `--${name} is ${JSON.stringify(value)}. Expected an integer from ${min} to ${max} in decimal digits.`,
  );
}

function money(value: string): number {
  try {
    return parseCents(value);
  } catch (cause) {
    throw new RainUsageError(`--total: ${(cause as Error).message}`, { cause });
  }
}

function activity(value: string | undefined): string {
  const id = value ?? `rain-${Date.now().toString(36)}-${randomBytes(4).toString('hex')}`;
  if (/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/.test(id)) return id;
  throw new RainUsageError(
    `--activity is ${JSON.stringify(id)}. Expected 1 to 128 letters, digits, dots, dashes or underscores, but not "." or "..".`,
  );
}

function url(value: string | undefined): string | undefined {
  const parsed = value?.split(',').map((one) => (URL.canParse(one) ? new URL(one) : undefined));
  if (parsed === undefined) return undefined;
  if (parsed.every((one) => one?.protocol === 'http:' && one.href === `${one.origin}/`)) {
    return parsed.map((one) => one?.origin).join(',');
  }
  throw new RainUsageError(
    `--url is ${JSON.stringify(value)}. Expected http URLs (not https) without a path, like http://127.0.0.1:3000, with commas between them.`,
  );
}
