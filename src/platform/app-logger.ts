import { ConsoleLogger, type ConsoleLoggerOptions } from '@nestjs/common';

const NEST_BOOT = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** Nest's console logger without the listing of modules and routes at boot, which hides the lines that matter. */
export class AppLogger extends ConsoleLogger {
  /** Colours only where a person reads them. */
  constructor(options: ConsoleLoggerOptions = { colors: process.stdout.isTTY ?? false }) {
    super(options);
  }

  /** Drops what Nest itself says while it boots; warnings and errors of the same sources pass. */
  override log(message: unknown, ...rest: unknown[]): void {
    const context: unknown = rest.at(-1);
    if (typeof context === 'string' && NEST_BOOT.has(context)) return;
    super.log(message, ...rest);
  }
}
