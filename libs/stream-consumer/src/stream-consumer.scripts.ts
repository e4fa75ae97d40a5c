import { consumerScripts } from './consumer/consumer.scripts';
import { streamScripts } from './streams/streams.scripts';

/** Every script of this lib, for registration. */
export const streamConsumerScripts = [...consumerScripts, ...streamScripts];
