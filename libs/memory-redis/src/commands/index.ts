import { bitCommands } from './bits';
import { channelCommands } from './channels';
import type { Command, CommandTable, Subcommands } from './command';
import { connectionCommands } from './connection';
import { expiryCommands } from './expiry';
import { hashCommands } from './hashes';
import { keyCommands } from './keys';
import { listCommands } from './lists';
import { missingCommands, missingSubcommands } from './missing';
import { objectCommands } from './objects';
import { scriptCommands } from './scripts';
import { setCommands } from './sets';
import { sortedSetAlgebraCommands } from './sorted-set-algebra';
import { sortedSetCommands } from './sorted-sets';
import { streamGroupCommands } from './stream-groups';
import { streamPendingCommands } from './stream-pending';
import { streamReadCommands } from './stream-reads';
import { sortingCommands } from './sorting';
import { streamCommands } from './streams';
import { stringCommands } from './strings';
import { transactionCommands } from './transactions';

const supported: CommandTable = {
  ...bitCommands,
  ...channelCommands,
  ...connectionCommands,
  ...expiryCommands,
  ...hashCommands,
  ...keyCommands,
  ...listCommands,
  ...objectCommands,
  ...scriptCommands,
  ...setCommands,
  ...sortedSetAlgebraCommands,
  ...sortedSetCommands,
  ...sortingCommands,
  ...streamCommands,
  ...streamGroupCommands,
  ...streamPendingCommands,
  ...streamReadCommands,
  ...stringCommands,
  ...transactionCommands,
};

/** All commands of Redis 7.0 by their names in lower case. Those that MemoryRedis does not support reply with an error that says so. */
export const commands: ReadonlyMap<string, Command | Subcommands> = new Map(
  Object.entries({ ...missingCommands, ...missingSubcommands, ...supported }).map(([name, command]) => {
    const missing = missingSubcommands[name];
    if (missing === undefined || !('subcommands' in missing) || !('subcommands' in command)) return [name, command];
    return [name, { subcommands: { ...missing.subcommands, ...command.subcommands } }];
  }),
);
