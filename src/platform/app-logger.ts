import { ConsoleLogger, type ConsoleLoggerOptions } from '@nestjs/common';

const NEST_BOOT = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** Nest's console logger without the list of modules and routes at boot, which hides more important lines. */
export class AppLogger extends ConsoleLogger {
  /** @param options default: colours only if stdout is a terminal */
  constructor(options: ConsoleLoggerOptions = { colors: process.stdout.isTTY ?? false }) {
    super(options);
  }

  /** Drops Nest's own messages of the boot. Its warnings and errors are logged. */
  override log(message: unknown, ...rest: unknown[]): void {
    const context: unknown = rest.at(-1);
    if (typeof context === 'string' && NEST_BOOT.has(context)) return;
    super.log(message, ...rest);
  }
}
