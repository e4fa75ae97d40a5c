import { consumerScripts } from './consumer/consumer.scripts';
import { streamScripts } from './streams/streams.scripts';

/** All scripts of this lib, which the module registers. */
export const streamConsumerScripts = [...consumerScripts, ...streamScripts];
