export { RedPacketController } from './red-packet.controller';
export {
  ActivityConflictError,
  ActivityIncompleteError,
  InvalidRedPacketInputError,
  MissingPermissionError,
} from './red-packet.errors';
export { RedPacketModule, type RedPacketModuleExtras } from './red-packet.module';
export type { IdentityResolver, RedPacketOptions } from './red-packet.options';
export { RedPacketService, type ClaimPayouts } from './red-packet.service';
export type {
  ActivityStatus,
  CreateActivity,
  CreatedActivity,
  GrabResult,
  GrantRecord,
  Packet,
  PayoutRow,
  RecordsPage,
} from './red-packet.types';
