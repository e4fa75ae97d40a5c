import { existsSync } from 'node:fs';
import { type AppConfig, readConfig } from './config';
import { ConfigError } from './config-error';

/**
 * Reads `.env` of the working folder, if there is one, and then the configuration; what the environment already
 * holds wins over the file.
 *
 * @throws {ConfigError} when a variable makes no sense or the file cannot be read
 */
export function loadConfig(): AppConfig {
  if (existsSync('.env')) {
    try {
      process.loadEnvFile('.env');
    } catch (cause) {
      throw new ConfigError(
        '.env',
        `a file that cannot be read (${String(cause)})`,
        'Make it a readable text file, or remove it.',
      );
    }
  }
  return readConfig(process.env);
}
