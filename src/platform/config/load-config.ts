import type { DynamicModule } from '@nestjs/common';
import { ConfigModule, type ConfigService } from '@nestjs/config';
import { type AppConfig, checkConfig } from './config';
import { ConfigError } from './config-error';

/** Content of `ConfigService`: the checked configuration, under one name. */
interface Configuration {
  readonly app: AppConfig;
}

/** The app's `ConfigService`: `config.get('app', { infer: true })` returns an `AppConfig`. */
export type AppConfigService = ConfigService<Configuration, true>;

/** With `skipProcessEnv`, `ConfigService` returns checked values only, never a raw variable of the environment. */
const OPTIONS = { isGlobal: true, cache: true, skipProcessEnv: true };

/** Provides a configuration as `ConfigService` to all modules. */
export function configModule(app: AppConfig): Promise<DynamicModule> {
  const validate = (): Configuration => ({ app });
  return ConfigModule.forRoot({ ...OPTIONS, ignoreEnvFile: true, validatePredefined: false, validate });
}

/**
 * Reads and checks the configuration. This is done before the app is made, because Redis and the ledger are started first. If
 * a variable is in the environment and in the file, the environment wins.
 *
 * @param envFile file with further variables; it may be missing
 * @throws {ConfigError} when a variable is not allowed or the file cannot be read
 */
export async function loadConfig(envFile = '.env'): Promise<AppConfig> {
  const checked: AppConfig[] = [];
  const validate = (env: Record<string, string>): Configuration => {
    const app = checkConfig(env);
    checked.push(app);
    // Under one name, because ConfigModule copies text values of the result, such as secrets of the file, to `process.env`.
    return { app };
  };
  try {
    await ConfigModule.forRoot({ ...OPTIONS, envFilePath: envFile, validate });
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError(envFile, `a file that cannot be read (${String(cause)})`, 'a readable text file or no file', {
      cause,
    });
  }
  return checked[0] as AppConfig;
}
