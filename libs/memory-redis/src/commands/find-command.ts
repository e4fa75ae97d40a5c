import { commands } from '.';
import { RedisError, shownText } from '../reply';
import { hasArity, wrongNumber, type Command } from './command';

export interface Found {
  readonly command: Command;
  /** Name in lower case. A subcommand has the form `command|subcommand`. */
  readonly name: string;
  readonly args: readonly string[];
}

/** Finds the command of a request, and checks its number of arguments. @throws RedisError */
export function findCommand(words: readonly string[]): Found {
  const found = lookUp(words);
  if (found === 'unknown') throw unknownCommand(words);
  if (found === 'unknown subcommand') {
    const [name = '', subcommand = ''] = words;
    throw new RedisError(
      `ERR unknown subcommand '${shownText(subcommand).slice(0, 128)}'. Try ${name.toUpperCase()} HELP.`,
    );
  }
  if (!hasArity(found.command, words.length)) throw wrongNumber(found.name);
  return found;
}

/** Finds a command by its name. Does not check the number of arguments. */
export function lookUp(words: readonly string[]): Found | 'unknown' | 'unknown subcommand' {
  const name = words[0]?.toLowerCase() ?? '';
  const entry = commands.get(name);
  if (entry === undefined) return 'unknown';
  if (!('subcommands' in entry)) return { command: entry, name, args: words.slice(1) };
  const subcommand = words[1]?.toLowerCase();
  if (subcommand === undefined) throw wrongNumber(name);
  const command = Object.hasOwn(entry.subcommands, subcommand) ? entry.subcommands[subcommand] : undefined;
  if (command === undefined) return 'unknown subcommand';
  return { command, name: `${name}|${subcommand}`, args: words.slice(2) };
}

function unknownCommand([name = '', ...args]: readonly string[]): RedisError {
  let shown = '';
  for (const arg of args) {
    if (shown.length >= 128) break;
    shown += `'${shownText(arg).slice(0, 128 - shown.length)}' `;
  }
  return new RedisError(`ERR unknown command '${shownText(name).slice(0, 128)}', with args beginning with: ${shown}`);
}
