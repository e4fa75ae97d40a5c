import { parseArgs } from 'node:util';
import type { Command } from './command';
import { console } from './console/console';
import { doctor } from './doctor/doctor';
import { migrate } from './migrate/migrate';
import { ConnectError } from './redis/node';
import type { Terminal } from './terminal';
import { top } from './top/top';
import { UsageError } from './usage-error';

const COMMANDS: Readonly<Record<string, Command>> = { console, doctor, migrate, top };

const HELP = ['--help', '-h', 'help'];

/**
 * Runs the program `luanest`. The promise never rejects.
 *
 * @param args words of the command line after `luanest`
 * @returns the exit status: 0; 1 if the command has found an error or failed; 2 for an invalid command line
 */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name = '', ...rest] = args;
  if (name === '' || HELP.includes(name)) {
    terminal.print(overview());
    return name === '' ? 2 : 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    terminal.complain(`luanest: there is no command ${name}.\n\n${overview()}`);
    return 2;
  }
  if (rest.some((word) => HELP.includes(word) && word !== 'help')) {
    terminal.print(command.help);
    return 0;
  }
  return run(name, command, rest, terminal);
}

async function run(name: string, command: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: command.options, allowPositionals: true });
    return await command.run({ values: values as Record<string, string | boolean>, positionals }, terminal);
  } catch (error) {
    const known = error instanceof UsageError || isParseError(error);
    const text =
      error instanceof Error
        ? known || error instanceof ConnectError
          ? error.message
          : (error.stack ?? error.message)
        : String(error);
    terminal.complain(`luanest ${name}: ${text}`);
    if (known) terminal.complain(`luanest ${name} --help shows its options.`);
    return known ? 2 : 1;
  }
}

function isParseError(error: unknown): boolean {
  return String((error as NodeJS.ErrnoException | undefined)?.code).startsWith('ERR_PARSE_ARGS');
}

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Usage: luanest <command>\n\n${lines.join('\n')}\n\nluanest <command> --help shows its options.`;
}
