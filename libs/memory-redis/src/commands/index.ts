import { channelCommands } from './channels';
import type { Command, Subcommands } from './command';
import { connectionCommands } from './connection';
import { expiryCommands } from './expiry';
import { hashCommands } from './hashes';
import { keyCommands } from './keys';
import { listCommands } from './lists';
import { scriptCommands } from './scripts';
import { setCommands } from './sets';
import { sortedSetCommands } from './sorted-sets';
import { streamGroupCommands } from './stream-groups';
import { streamPendingCommands } from './stream-pending';
import { streamReadCommands } from './stream-reads';
import { streamCommands } from './streams';
import { stringCommands } from './strings';
import { transactionCommands } from './transactions';

/** All commands, by their names in lower case. */
export const commands: ReadonlyMap<string, Command | Subcommands> = new Map(
  Object.entries({
    ...channelCommands,
    ...connectionCommands,
    ...expiryCommands,
    ...hashCommands,
    ...keyCommands,
    ...listCommands,
    ...scriptCommands,
    ...setCommands,
    ...sortedSetCommands,
    ...streamCommands,
    ...streamGroupCommands,
    ...streamPendingCommands,
    ...streamReadCommands,
    ...stringCommands,
    ...transactionCommands,
  }),
);
