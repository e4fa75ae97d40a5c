import { StreamConsumerService } from 'luanest/stream-consumer';
import { Checks, type KnownOptions } from '../../internal/src';
import type { WorkOptions } from '../../worker/src';

/** Options of StreamServer. */
export interface StreamServerOptions {
  /** Service of the app, which `StreamConsumerModule` provides. Its options are the defaults of all patterns. */
  readonly streams: StreamConsumerService;
  /**
   * Name of this service, 1 to 100 letters, digits, `.`, `_`, `:` or `-`. Each service gets all events of its patterns; the
   * processes of a service share them.
   */
  readonly group: string;
}

/** Options of StreamClient. */
export interface StreamClientOptions {
  /** Service of the app, which `StreamConsumerModule` provides. */
  readonly streams: StreamConsumerService;
  /** Longest time that `send` waits for the whole reply, ms; integer from 1 to 2^31 - 1. Default 30,000. */
  readonly timeoutMs?: number;
}

/** Options of one `@EventPattern`, given as its `extras`. The defaults are those of StreamConsumerModule. */
export interface StreamEventExtras extends WorkOptions {
  /** True to handle events of one key one after the other, across all processes and retries. Default false. */
  readonly ordered?: boolean;
}

/** Options of one `@MessagePattern`, given as its `extras`. A request is not repeated, and its client sets the timeout. */
export type StreamRequestExtras = Pick<WorkOptions, 'concurrency' | 'leaseMs'>;

const KNOWN_OF_SERVER: KnownOptions<StreamServerOptions> = { streams: true, group: true };
const KNOWN_OF_CLIENT: KnownOptions<StreamClientOptions> = { streams: true, timeoutMs: true };
const KNOWN_OF_REQUEST: KnownOptions<StreamRequestExtras> = { concurrency: true, leaseMs: true };
const KNOWN_OF_EVENT: KnownOptions<StreamEventExtras> = {
  ...KNOWN_OF_REQUEST,
  attempts: true,
  backoff: true,
  timeoutMs: true,
  ordered: true,
};

const ofServer = new Checks('StreamServer');
const ofClient = new Checks('StreamClient');

function checkStreams(checks: Checks, streams: unknown): StreamConsumerService {
  if (streams instanceof StreamConsumerService) return streams;
  return checks.refuse(
    'streams',
    streams,
    'the StreamConsumerService of the app, such as app.get(StreamConsumerService)',
  );
}

/** Checks the options. @throws InvalidOptionError */
export function resolveServer(options: StreamServerOptions): StreamServerOptions {
  const { streams, group } = ofServer.options('', options, KNOWN_OF_SERVER);
  checkStreams(ofServer, streams).checkOptions({ stream: 'any', group }, 'StreamServer');
  return { streams, group };
}

/** Checks the options and fills in the default. @throws InvalidOptionError */
export function resolveClient(options: StreamClientOptions): Required<StreamClientOptions> {
  const { streams, timeoutMs = 30_000 } = ofClient.options('', options, KNOWN_OF_CLIENT);
  return { streams: checkStreams(ofClient, streams), timeoutMs: ofClient.integer('timeoutMs', timeoutMs, 1) };
}

/** Checks the extras of a decorator. @param owner the decorator and its pattern, for errors. @throws InvalidOptionError */
export function checkExtras(streams: StreamConsumerService, owner: string, isEvent: boolean, extras: object): void {
  new Checks(owner).options('', extras, isEvent ? KNOWN_OF_EVENT : KNOWN_OF_REQUEST);
  streams.checkOptions({ ...extras, stream: 'any', group: 'any' }, owner);
}
