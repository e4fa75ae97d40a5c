import { ConsoleLogger, type ConsoleLoggerOptions } from '@nestjs/common';

const NEST_BOOT = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** Nest's console logger without the list of modules and routes at boot, in which other lines are easily missed. */
export class AppLogger extends ConsoleLogger {
  /** @param options default: colours only if stdout is a terminal */
  constructor(options: ConsoleLoggerOptions = { colors: process.stdout.isTTY ?? false }) {
    super(options);
  }

  /** Logs a message, except those of Nest's parts that log at boot. Their warnings and errors are logged. */
  override log(message: unknown, ...rest: unknown[]): void {
    const context: unknown = rest.at(-1);
    if (typeof context === 'string' && NEST_BOOT.has(context)) return;
    super.log(message, ...rest);
  }
}
