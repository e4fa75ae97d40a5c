export const RED_PACKET_OPTIONS = Symbol('luanest:red-packet-options');
