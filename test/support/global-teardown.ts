import { sharedServers } from './shared-servers';

export default async function globalTeardown(): Promise<void> {
  await Promise.all(sharedServers.splice(0).map((server) => server.stop()));
}
