export { unlimitedListeners } from './abort-signals';
export { Bell } from './bell';
export { Checks, isIdOf, isIntegerOf, MAX_TIMER_MS, type KnownOptions, type Refusal } from './checks';
export {
  constructed,
  defineLuanestModule,
  type LuanestModuleClass,
  type ModuleExtras,
  NeededRegistry,
  neededRegistry,
} from './define-module';
export { classOrMethodDecorator, methodDecorator, type Decorated, type DecoratedMethod } from './decorators';
export { withEnhancers, type EnhancedMethod, type EnhancedResult, type PipedParameters } from './enhancers';
export { exploreMethods, NOT_A_SINGLETON, singletonOf, type ExploredMethod } from './explorer';
export {
  ClosedError,
  InvalidInputError,
  InvalidOptionError,
  LostError,
  LuanestError,
  NotReplicatedError,
  NotSentError,
  ScriptRefusedError,
  SetupError,
  TimeoutError,
  UnknownOutcomeError,
} from './errors';
export { EventChannel, eventChannels, originOf, subscribeTo } from './event-channels';
export {
  classOf,
  deadLetter,
  retryLater,
  unfinishedOutcome,
  type DeadLetter,
  type RetryLater,
  type RetryLaterOptions,
} from './handler-outcome';
export { disguise, EXPLORER_PARTS, methodOf, prototypeOf, timesProvided, type Method, type Wrapper } from './handlers';
export { evenTags, slotOf, spread, UniqueIds } from './ids';
export { CONSOLE, INSPECT, OUTBOX, TRANSPORT } from './inspect';
export { idleChecksOf, type IdleCheck } from './idle-checks';
export { sendJsonAs } from './json-type';
export { Lease, LeaseBook, type LeaseOwner, type LossCause } from './lease-book';
export { forgottenHandlers, forgottenText, noteHandler } from './loaded-handlers';
export { isUndecorated, MethodService, provided, undecorated } from './method-service';
export { KNOWN_NODE, resolveNode, type NodeOptions } from './node-name';
export { DELETES, isUnfinished, MOVED, UNFINISHED } from './outcome-marker';
export type { Page } from './page';
export { classNameOf, messageOf, oneLine, shown, thrownKind, thrownText } from './printable';
export {
  KNOWN_REPLICAS,
  renewalNotReplicated,
  resolveReplicas,
  type ReplicaOptions,
  type ResolvedReplicas,
  waitOfRenewal,
} from './replicas';
export { Retries } from './retries';
export { rpcException } from './rpc-exception';
export { FREES_MEMORY, SMALL_GROUP } from './script-defaults';
export {
  atLast,
  drained,
  draining,
  endLast,
  KNOWN_SHUTDOWN,
  resolveShutdown,
  type ResolvedShutdown,
  type ShutdownOptions,
} from './shutdown';
export { afterEffect, Steps } from './steps';
export { measuredMs, nextTurn, replaceTime, time, type Timer, type TimeSource } from './time';
export { endsWithin, pause, reachedWithin } from './waits';
