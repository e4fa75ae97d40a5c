import { join } from 'node:path';
import type { AppConfig } from '../../platform/config/config';
import { readOrCreateSecret } from '../../platform/embedded/private-file';

/** Secrets of the app. */
export interface Secrets {
  /** Key that signs guest tokens. */
  readonly guestSecret: string;
  readonly adminToken: string;
}

/** Loads the configured secrets. Reads a secret that is not configured from the data folder, or generates it there. */
export async function loadSecrets(config: AppConfig): Promise<Secrets> {
  return {
    guestSecret: config.guestSecret ?? (await readOrCreateSecret(join(config.dataDir, 'guest-secret'))),
    adminToken: await loadAdminToken(config),
  };
}

/** Loads only the admin token, for tools that call an app with the same configuration. */
export async function loadAdminToken(config: AppConfig): Promise<string> {
  return config.adminToken ?? readOrCreateSecret(join(config.dataDir, 'admin-token'));
}
