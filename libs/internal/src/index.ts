export {
  checkFlag,
  checkInteger,
  checkObject,
  checkOptions,
  isIntegerOf,
  MAX_TIMER_MS,
  refusedOption,
  type KnownOptions,
  type Refusal,
} from './checks';
export { InvalidOptionError, LuanestError } from './errors';
export { EventChannel, eventChannels } from './event-channels';
export { disguise, EXPLORER_PARTS, methodOf, prototypeOf, timesProvided, type Method, type Wrapper } from './handlers';
export { evenTags, spread } from './hash';
export { importedOnce } from './imported-once';
export { isUnfinished, UNFINISHED } from './outcome-marker';
export { oneLine, shown, thrownText } from './printable';
export { rpcException } from './rpc-exception';
export { ALONE, FREES_MEMORY, SMALL_GROUP } from './script-defaults';
