import { StreamConsumerService } from 'luanest/stream-consumer';
import { Checks, type KnownOptions } from '../../internal/src';
import type { WorkOptions } from '../../worker/src';

/** Options of StreamServer. */
export interface StreamServerOptions {
  /** The app's StreamConsumerService, which StreamConsumerModule provides. The options of that module are the defaults for all patterns. */
  readonly streams: StreamConsumerService;
  /**
   * Name of this microservice; 1 to 100 letters, digits, `.`, `_`, `:` or `-`. Every microservice gets all events of its patterns. If
   * several processes have the same name, each event goes to one of them.
   */
  readonly group: string;
}

/** Options of StreamClient. */
export interface StreamClientOptions {
  /** The app's StreamConsumerService, which StreamConsumerModule provides. */
  readonly streams: StreamConsumerService;
  /** Longest time that `send` waits until the reply is complete, ms; integer from 1 to 2^31 - 1. Default 30,000. */
  readonly timeoutMs?: number;
}

/** Options of one event handler: the argument `extras` of `@EventPattern`. The defaults are the options of StreamConsumerModule. */
export interface StreamEventExtras extends WorkOptions {
  /** True if events with the same key are handled one after the other, also across processes and retries. Default false. */
  readonly ordered?: boolean;
}

/**
 * Options of one request handler: the argument `extras` of `@MessagePattern`. It has no options for retries, because a request is handled
 * only once, and no `timeoutMs`, because the client sets it.
 */
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

/** Checks the `extras` of a decorator. @param owner the decorator and its pattern, for error messages @throws InvalidOptionError */
export function checkExtras(streams: StreamConsumerService, owner: string, isEvent: boolean, extras: object): void {
  new Checks(owner).options('', extras, isEvent ? KNOWN_OF_EVENT : KNOWN_OF_REQUEST);
  streams.checkOptions({ ...extras, stream: 'any', group: 'any' }, owner);
}
