-- Shows the activity that tidegate's packets carry, in Wireshark and tshark.
--
--   tshark -X lua_script:tools/wireshark/tidegate_activity.lua -r FILE -Y tidegate.activity
--
-- or copy this file to Wireshark's folder of personal plugins (Help, About, Folders). It looks at
-- the options that Wireshark itself has found, in IPv4 headers and in IPv6 Destination Options.

local EXPERIMENT = 0x5447 -- "TG"
local STEPS = 256 -- in one doubling of the rate

local tidegate = Proto("tidegate", "Activity (tidegate)")
local activity = ProtoField.double("tidegate.activity", "Activity", "doublings of the reference rate")
local bits = ProtoField.uint16("tidegate.activity.bits", "On the wire", base.HEX)
tidegate.fields = { activity, bits }

local ipv4_headers = Field.new("ip")
local ipv6_headers = Field.new("ipv6.dstopts")

-- Calls found(value) with the two bytes of each activity among the options from byte `at` on.
-- `types` says how this version writes its options.
local function each_activity(header, at, types, found)
  while at < header:len() do
    local kind = header(at, 1):uint()
    if kind == types.stop then
      return
    elseif kind == types.single then
      at = at + 1
    else
      if at + 2 > header:len() then
        return
      end
      local len = header(at + 1, 1):uint() + types.uncounted
      if len < 2 or at + len > header:len() then
        return
      end
      if kind == types.activity and len == 6 and header(at + 2, 2):uint() == EXPERIMENT then
        found(header(at + 4, 2))
      end
      at = at + len
    end
  end
end

-- RFC 791: the list may end before its header does; the length counts type and length.
local IPV4 = { activity = 0x9E, single = 1, stop = 0, uncounted = 0 }
-- RFC 8200: Pad1 alone has no length; the length counts the data only.
local IPV6 = { activity = 0x1E, single = 0, stop = nil, uncounted = 2 }

function tidegate.dissector(_, _, tree)
  local function show(value)
    local doublings = value:uint() / STEPS
    local item = tree:add(tidegate, value, string.format("Activity (tidegate): %.3f", doublings))
    item:add(activity, value, doublings)
    item:add(bits, value)
  end
  for _, field in ipairs({ ipv4_headers() }) do
    each_activity(field.range, 20, IPV4, show)
  end
  for _, field in ipairs({ ipv6_headers() }) do
    each_activity(field.range, 2, IPV6, show)
  end
end

register_postdissector(tidegate)
